(class_declaration "interface" (type_identifier) @name) @interface
(class_declaration "enum" (type_identifier) @name) @enum
(class_declaration "class" (type_identifier) @name) @class
(object_declaration (type_identifier) @name) @class
(companion_object (type_identifier) @name) @class
(type_alias . (type_identifier) @name) @type
(class_body (function_declaration (simple_identifier) @name) @method)
(function_declaration (simple_identifier) @name) @function
(source_file (property_declaration (variable_declaration . (simple_identifier) @name)) @variable)
(class_body (property_declaration (variable_declaration . (simple_identifier) @name)) @field.plain)
(class_parameter (binding_pattern_kind) (simple_identifier) @name) @field.plain
(enum_entry . (simple_identifier) @name) @constant.plain

(import_header (identifier) @ref.import)
(call_expression . [(simple_identifier) (navigation_expression)] @ref.call)
(delegation_specifier (user_type) @ref.inherit)
(delegation_specifier (constructor_invocation (user_type) @ref.inherit))
(user_type) @ref.type
