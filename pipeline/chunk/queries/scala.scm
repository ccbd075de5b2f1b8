(class_definition name: (identifier) @name) @class
(object_definition name: (identifier) @name) @class
(trait_definition name: (identifier) @name) @trait
(enum_definition name: (identifier) @name) @enum
(simple_enum_case name: (identifier) @name) @constant.plain
(type_definition name: (type_identifier) @name) @type
(given_definition name: (identifier) @name) @variable
(function_definition name: (identifier) @name) @function
(function_declaration name: (identifier) @name) @function
(template_body (val_definition pattern: (identifier) @name) @field)
(template_body (var_definition pattern: (identifier) @name) @field)
(compilation_unit (val_definition pattern: (identifier) @name) @variable)

(import_declaration) @ref.import
(call_expression function: [(identifier) (field_expression)] @ref.call)
(call_expression function: (generic_function function: (_) @ref.call))
(instance_expression . [(type_identifier) (stable_type_identifier)] @ref.call)
(instance_expression . (generic_type type: (_) @ref.call))
(annotation name: (_) @ref.call)
(extends_clause [(type_identifier) (stable_type_identifier)] @ref.inherit)
(extends_clause (generic_type type: (_) @ref.inherit))
(extends_clause (compound_type [(type_identifier) (stable_type_identifier)] @ref.inherit))
(type_identifier) @ref.type
