(class name: [(constant) (scope_resolution)] @name) @class
(module name: [(constant) (scope_resolution)] @name) @module
(method name: (_) @name) @function
(singleton_method name: (_) @name) @method
(body_statement (method name: (_) @name) @method)
(program (method name: (_) @name) @function)
(assignment left: (constant) @name) @constant
(call method: (identifier) @keyword arguments: (argument_list (simple_symbol) @name)) @by.keyword
(alias name: (_) @name) @method.plain

(call method: (identifier) @keyword arguments: (argument_list . (string (string_content) @by.keyword)))
(call method: (identifier) @keyword arguments: (argument_list [(constant) (scope_resolution)] @by.keyword))
(call receiver: (_) @from method: (_) @ref.call)
(call !receiver method: (_) @ref.call)
(superclass [(constant) (scope_resolution)] @ref.inherit)
(scope_resolution) @ref.type
(constant) @ref.type
