(function_declaration name: (identifier) @name) @function
(generator_function_declaration name: (identifier) @name) @function
(class_declaration name: (identifier) @name) @class
(method_definition name: (_) @name) @method
(field_definition property: (_) @name value: [(arrow_function) (function_expression)]) @method
(field_definition property: (_) @name) @field.plain
(variable_declarator name: (identifier) @name value: [(arrow_function) (function_expression)]) @function
(variable_declarator name: (identifier) @name value: (class)) @class
(program (lexical_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (variable_declaration (variable_declarator name: (identifier) @name)) @variable)
(program (export_statement declaration: (lexical_declaration (variable_declarator name: (identifier) @name))) @variable)
(assignment_expression left: (member_expression) @name right: [(arrow_function) (function_expression)]) @function
(pair key: (property_identifier) @name value: [(arrow_function) (function_expression)]) @method

(import_statement source: (string) @ref.import)
(export_statement source: (string) @ref.import)
(call_expression function: (identifier) @keyword arguments: (arguments (string) @by.keyword))
(call_expression function: [(identifier) (member_expression)] @ref.call)
(new_expression constructor: [(identifier) (member_expression)] @ref.call)
(decorator [(identifier) (member_expression)] @ref.call)
(class_heritage [(identifier) (member_expression)] @ref.inherit)
(jsx_opening_element name: [(identifier) (member_expression)] @ref.jsx)
(jsx_self_closing_element name: [(identifier) (member_expression)] @ref.jsx)
