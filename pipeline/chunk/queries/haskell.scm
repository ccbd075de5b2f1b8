(declarations (signature name: (variable) @name) @function)
(declarations (function name: (variable) @name) @function)
(declarations (bind name: (variable) @name) @function)
(data_type name: (name) @name) @struct
(newtype name: (name) @name) @struct
(type_synomym name: (name) @name) @type
(class name: (name) @name) @class
(class_declarations (signature name: (variable) @name) @method)
(instance name: (name) @name) @scope.instance
(instance_declarations (function name: (variable) @name) @method)
(instance_declarations (bind name: (variable) @name) @method)
(data_constructor (prefix name: (constructor) @name)) @constant.plain
(data_constructor (record name: (constructor) @name)) @constant.plain
(field name: (field_name (variable) @name)) @field.plain
(imports (_) @statement)
(declarations (_) @statement)

(import module: (module) @ref.import)
(apply function: [(variable) (qualified)] @ref.call)
(infix left_operand: [(variable) (qualified)] @ref.call)
(signature type: (name) @ref.type)
(function parameter: (name) @ref.type)
(function result: (name) @ref.type)
(apply constructor: [(name) (qualified)] @ref.type)
(apply argument: (name) @ref.type)
(field type: (name) @ref.type)
(list element: (name) @ref.type)
(context (apply constructor: (name) @ref.inherit))
