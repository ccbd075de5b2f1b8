(function_item name: (identifier) @name) @function
(function_signature_item name: (identifier) @name) @function
(struct_item name: (type_identifier) @name) @struct
(union_item name: (type_identifier) @name) @struct
(enum_item name: (type_identifier) @name) @enum
(enum_variant name: (identifier) @name) @constant.plain
(trait_item name: (type_identifier) @name) @trait
(type_item name: (type_identifier) @name) @type
(const_item name: (identifier) @name) @constant
(static_item name: (identifier) @name) @variable
(mod_item name: (identifier) @name body: (_)) @module
(macro_definition name: (identifier) @name) @macro
(field_declaration name: (field_identifier) @name) @field.plain
(impl_item type: (type_identifier) @name) @scope.impl
(impl_item type: (generic_type type: (type_identifier) @name)) @scope.impl
(impl_item type: (scoped_type_identifier name: (type_identifier) @name)) @scope.impl

(use_declaration argument: (_) @ref.import)
(extern_crate_declaration name: (identifier) @ref.import)
(call_expression function: [(identifier) (scoped_identifier) (field_expression)] @ref.call)
(call_expression function: (generic_function function: (_) @ref.call))
(macro_invocation macro: (_) @ref.call)
(struct_expression name: (_) @ref.type)
(impl_item trait: [(type_identifier) (scoped_type_identifier) (generic_type)] @ref.inherit)
(trait_item bounds: (trait_bounds [(type_identifier) (scoped_type_identifier)] @ref.inherit))
(scoped_type_identifier) @ref.type
(type_identifier) @ref.type
