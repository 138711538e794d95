from .compiler import Compiler

kernel = Compiler.shared().kernel
