(class_definition name: (identifier) @name) @class
(function_definition name: (identifier) @name) @function
(decorated_definition definition: (class_definition name: (identifier) @name)) @class
(decorated_definition definition: (function_definition name: (identifier) @name)) @function
(module (expression_statement (assignment left: (identifier) @name) @variable))
(class_definition body: (block (expression_statement (assignment left: (identifier) @name) @field.plain)))

(class_definition superclasses: (argument_list [(identifier) (attribute)] @ref.inherit))
(import_statement name: (dotted_name) @ref.import)
(import_statement name: (aliased_import name: (dotted_name) @ref.import))
(import_from_statement module_name: (_) @ref.import)
(call function: [(identifier) (attribute)] @ref.call)
(decorator [(identifier) (attribute)] @ref.call)
(type [(identifier) (attribute)] @ref.type)
(type (generic_type (identifier) @ref.type))
(type (subscript value: (_) @ref.type))
(type (binary_operator (identifier) @ref.type))
