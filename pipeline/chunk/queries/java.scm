(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(interface_declaration name: (identifier) @name) @interface
(annotation_type_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(enum_constant name: (identifier) @name) @constant.plain
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(compact_constructor_declaration name: (identifier) @name) @method
(annotation_type_element_declaration name: (identifier) @name) @method
(field_declaration declarator: (variable_declarator name: (identifier) @name)) @field.plain
(constant_declaration declarator: (variable_declarator name: (identifier) @name)) @constant.plain

(import_declaration (scoped_identifier) @ref.import)
(method_invocation object: (_)? @from name: (identifier) @ref.call)
(object_creation_expression type: [(type_identifier) (scoped_type_identifier)] @ref.call)
(object_creation_expression type: (generic_type . (_) @ref.call))
(method_reference . (_) @from (identifier) @ref.call .)
(annotation name: (_) @ref.call)
(marker_annotation name: (_) @ref.call)
(type_identifier) @ref.type
(superclass [(type_identifier) (scoped_type_identifier)] @ref.inherit)
(superclass (generic_type . (_) @ref.inherit))
(type_list [(type_identifier) (scoped_type_identifier)] @ref.inherit)
(type_list (generic_type . (_) @ref.inherit))
