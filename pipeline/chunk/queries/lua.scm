(function_statement name: (_) @name) @function
(variable_declaration name: (variable_declarator) @name value: (function)) @function
(program (variable_declaration name: (variable_declarator . (identifier) .) @name) @variable)

(function_call prefix: (identifier) @keyword args: (function_arguments (string) @by.keyword))
(function_call prefix: (identifier) @keyword args: (string_argument) @by.keyword)
(function_call args: (_) @until) @ref.call
