(function_definition declarator: (function_declarator declarator: (identifier) @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(function_definition declarator: (pointer_declarator declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name)))) @function
(declaration declarator: (function_declarator declarator: (identifier) @name)) @function
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(struct_specifier name: (type_identifier) @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant.plain
(type_definition declarator: (type_identifier) @name) @type
(type_definition declarator: (pointer_declarator declarator: (type_identifier) @name)) @type
(type_definition declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (type_identifier) @name)))) @type
(field_declaration declarator: (field_identifier) @name) @field.plain
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @field.plain
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @field.plain
(field_declaration declarator: (function_declarator declarator: (parenthesized_declarator (pointer_declarator declarator: (field_identifier) @name)))) @field.plain
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(translation_unit (declaration declarator: (init_declarator declarator: (_ declarator: (identifier) @name))) @variable)
(translation_unit (declaration declarator: (identifier) @name) @variable)
(preproc_ifdef (_) @statement)
(preproc_if (_) @statement)

(preproc_include path: (_) @ref.import)
(call_expression function: [(identifier) (field_expression)] @ref.call)
(type_identifier) @ref.type
