(call target: (identifier) @keyword (arguments . (alias) @name)) @by.keyword
(call target: (identifier) @keyword (arguments . (identifier) @name)) @by.keyword
(call target: (identifier) @keyword (arguments . (call target: (identifier) @name))) @by.keyword
(call target: (identifier) @keyword (arguments . (binary_operator left: (call target: (identifier) @name)))) @by.keyword

(call target: (identifier) @keyword (arguments . [(alias) (dot)] @by.keyword))
(call target: [(identifier) (dot)] @ref.call)
(struct (alias) @ref.type)
