"""How a tool is declared, inside the sandbox or on the host, and what its code may use."""
