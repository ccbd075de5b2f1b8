(function_definition name: (word) @name) @function
(program (variable_assignment name: (variable_name) @name) @variable)
(program (declaration_command (variable_assignment name: (variable_name) @name)) @variable)

(command name: (command_name (word) @keyword) . argument: (_) @by.keyword)
(command name: (command_name (word) @ref.call))
