(class_declaration name: (identifier) @name) @class
(record_declaration name: (identifier) @name) @class
(struct_declaration name: (identifier) @name) @struct
(interface_declaration name: (identifier) @name) @interface
(enum_declaration name: (identifier) @name) @enum
(enum_member_declaration name: (identifier) @name) @constant.plain
(delegate_declaration name: (identifier) @name) @type
(namespace_declaration name: (_) @name) @module
(method_declaration name: (identifier) @name) @method
(constructor_declaration name: (identifier) @name) @method
(destructor_declaration name: (identifier) @name) @method
(local_function_statement name: (identifier) @name) @function
(property_declaration name: (identifier) @name) @field
(event_declaration name: (identifier) @name) @field
(field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field.plain
(event_field_declaration (variable_declaration (variable_declarator name: (identifier) @name))) @field.plain

(using_directive [(identifier) (qualified_name)] @ref.import .)
(invocation_expression function: [(identifier) (member_access_expression) (generic_name)] @ref.call)
(invocation_expression function: (conditional_access_expression (member_binding_expression name: (identifier) @ref.call)))
(object_creation_expression type: (_) @ref.call)
(attribute name: (_) @ref.call)
(base_list [(identifier) (qualified_name) (generic_name)] @ref.inherit)
(parameter type: [(identifier) (qualified_name)] @ref.type)
(method_declaration returns: [(identifier) (qualified_name)] @ref.type)
(property_declaration type: [(identifier) (qualified_name)] @ref.type)
(variable_declaration type: [(identifier) (qualified_name)] @ref.type)
(cast_expression type: [(identifier) (qualified_name)] @ref.type)
(generic_name . (identifier) @ref.type)
(type_argument_list [(identifier) (qualified_name)] @ref.type)
(nullable_type type: [(identifier) (qualified_name)] @ref.type)
(array_type type: [(identifier) (qualified_name)] @ref.type)
