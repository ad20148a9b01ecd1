"""The language server: what an editor shows while a file is being written. Needs the extra `lsp`."""
