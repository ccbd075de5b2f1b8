(function_declaration name: (identifier) @name) @function
(variable_declaration . (identifier) @name (struct_declaration)) @struct
(variable_declaration . (identifier) @name (enum_declaration)) @enum
(variable_declaration . (identifier) @name (union_declaration)) @struct
(variable_declaration . (identifier) @name (opaque_declaration)) @struct
(variable_declaration . (identifier) @name (error_set_declaration)) @type
(source_file (variable_declaration . (identifier) @name) @variable)
(struct_declaration (variable_declaration . (identifier) @name) @constant)
(container_field name: (identifier) @name) @field.plain
(test_declaration (string) @name) @function

(builtin_function (builtin_identifier) @keyword (arguments (string (string_content) @by.keyword)))
(call_expression function: [(identifier) (field_expression)] @ref.call)
(parameter type: [(identifier) (field_expression)] @ref.type)
(pointer_type [(identifier) (field_expression)] @ref.type)
(container_field type: [(identifier) (field_expression)] @ref.type)
(function_declaration type: [(identifier) (field_expression)] @ref.type)
