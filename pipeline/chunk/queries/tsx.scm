(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(function_signature name: (identifier) @name) @function
(class_declaration name: (type_identifier) @name) @class
(abstract_class_declaration name: (type_identifier) @name) @class
(interface_declaration name: (type_identifier) @name) @interface
(type_alias_declaration name: (type_identifier) @name) @type
(enum_declaration name: (identifier) @name) @enum
(internal_module name: (_) @name) @module
(module name: (_) @name) @module
(method_definition name: (_) @name) @method
(method_signature name: (_) @name) @method
(abstract_method_signature name: (_) @name) @method
(public_field_definition name: (_) @name value: [(arrow_function) (function_expression)]) @method
(public_field_definition name: (_) @name) @field.plain
(interface_body (property_signature name: (_) @name) @field.plain)
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name))) @variable)
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression)]) @function

(import_statement source: (string) @ref.import)
(export_statement source: (string) @ref.import)
(call_expression function: (identifier) @keyword arguments: (arguments (string) @by.keyword))
(call_expression function: [(identifier) (member_expression)] @ref.call)
(new_expression constructor: [(identifier) (member_expression)] @ref.call)
(decorator [(identifier) (member_expression)] @ref.call)
(decorator (call_expression function: (identifier) @ref.call))
(type_identifier) @ref.type
(nested_type_identifier) @ref.type
(extends_clause value: [(identifier) (member_expression)] @ref.inherit)
(implements_clause [(type_identifier) (nested_type_identifier)] @ref.inherit)
(implements_clause (generic_type name: (_) @ref.inherit))
(extends_type_clause type: [(type_identifier) (nested_type_identifier)] @ref.inherit)
(extends_type_clause type: (generic_type name: (_) @ref.inherit))
(jsx_opening_element name: [(identifier) (member_expression)] @ref.jsx)
(jsx_self_closing_element name: [(identifier) (member_expression)] @ref.jsx)
