(class_declaration "struct" name: (type_identifier) @name) @struct
(class_declaration "enum" name: (type_identifier) @name) @enum
(class_declaration "class" name: (type_identifier) @name) @class
(class_declaration "actor" name: (type_identifier) @name) @class
(class_declaration "extension" name: (user_type (type_identifier) @name .)) @scope.extension
(protocol_declaration name: (type_identifier) @name) @interface
(typealias_declaration name: (type_identifier) @name) @type
(function_declaration name: (simple_identifier) @name) @function
(protocol_function_declaration name: (simple_identifier) @name) @method
(init_declaration name: "init" @name) @method
(deinit_declaration "deinit" @name) @method
(subscript_declaration "subscript" @name) @method
(source_file (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @variable)
(class_body (property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field)
(protocol_property_declaration name: (pattern bound_identifier: (simple_identifier) @name)) @field.plain
(enum_entry name: (simple_identifier) @name) @constant.plain

(import_declaration (identifier) @ref.import)
(call_expression . [(simple_identifier) (navigation_expression)] @ref.call)
(constructor_expression constructed_type: (user_type . (type_identifier) @ref.call))
(inheritance_specifier inherits_from: (user_type) @ref.inherit)
(user_type) @ref.type
