(function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (destructor_name) (operator_name)] @name)) @function
(function_definition declarator: (pointer_declarator declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))) @function
(function_definition declarator: (reference_declarator (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier) (operator_name)] @name))) @function
(declaration declarator: (function_declarator declarator: [(identifier) (destructor_name)] @name)) @function
(declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (identifier) @name))) @function
(field_declaration declarator: (function_declarator declarator: [(field_identifier) (operator_name)] @name)) @method
(field_declaration declarator: (pointer_declarator declarator: (function_declarator declarator: (field_identifier) @name))) @method
(field_declaration declarator: (reference_declarator (function_declarator declarator: [(field_identifier) (operator_name)] @name))) @method
(class_specifier name: [(type_identifier) (template_type)] @name body: (_)) @class
(struct_specifier name: [(type_identifier) (template_type)] @name body: (_)) @struct
(union_specifier name: (type_identifier) @name body: (_)) @struct
(enum_specifier name: (type_identifier) @name body: (_)) @enum
(enumerator name: (identifier) @name) @constant.plain
(template_declaration (class_specifier name: (type_identifier) @name body: (_))) @class
(template_declaration (struct_specifier name: (type_identifier) @name body: (_))) @struct
(template_declaration (function_definition declarator: (function_declarator declarator: [(identifier) (field_identifier) (qualified_identifier)] @name))) @function
(namespace_definition name: (_) @name) @module
(type_definition declarator: (type_identifier) @name) @type
(alias_declaration name: (type_identifier) @name) @type
(concept_definition name: (identifier) @name) @type
(field_declaration declarator: (field_identifier) @name) @field.plain
(field_declaration declarator: (pointer_declarator declarator: (field_identifier) @name)) @field.plain
(field_declaration declarator: (array_declarator declarator: (field_identifier) @name)) @field.plain
(preproc_def name: (identifier) @name) @macro
(preproc_function_def name: (identifier) @name) @macro
(translation_unit (declaration declarator: (init_declarator declarator: (identifier) @name)) @variable)
(preproc_ifdef (_) @statement)
(preproc_if (_) @statement)
(linkage_specification body: (declaration_list (_) @statement))

(preproc_include path: (_) @ref.import)
(call_expression function: [(identifier) (field_expression) (qualified_identifier) (template_function)] @ref.call)
(new_expression type: (_) @ref.call)
(base_class_clause [(type_identifier) (qualified_identifier) (template_type)] @ref.inherit)
(type_identifier) @ref.type
