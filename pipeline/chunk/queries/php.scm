(class_declaration name: (name) @name) @class
(interface_declaration name: (name) @name) @interface
(trait_declaration name: (name) @name) @trait
(enum_declaration name: (name) @name) @enum
(enum_case name: (name) @name) @constant.plain
(function_definition name: (name) @name) @function
(method_declaration name: (name) @name) @method
(namespace_definition name: (_) @name body: (_)) @module
(const_declaration (const_element . (name) @name)) @constant
(property_declaration (property_element (variable_name) @name)) @field.plain

(namespace_use_clause [(qualified_name) (name)] @ref.import)
(namespace_use_group_clause (namespace_name) @ref.import)
(function_call_expression function: [(name) (qualified_name)] @ref.call)
(member_call_expression object: (_) @from name: (name) @ref.call)
(nullsafe_member_call_expression object: (_) @from name: (name) @ref.call)
(scoped_call_expression scope: (_) @from name: (name) @ref.call)
(object_creation_expression . [(name) (qualified_name)] @ref.call)
(attribute (name) @ref.call)
(base_clause [(name) (qualified_name)] @ref.inherit)
(class_interface_clause [(name) (qualified_name)] @ref.inherit)
(use_declaration [(name) (qualified_name)] @ref.inherit)
(named_type [(name) (qualified_name)] @ref.type)
