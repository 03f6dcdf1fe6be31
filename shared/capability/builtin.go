package capability

// BuiltinNames are the names of the hub's own tools (core §9), in a fresh slice. They have rules and budgets of their own, which
// a business tool of the same name would otherwise be judged by; jobs leave such a tool out.
func BuiltinNames() []string {
	return []string{"send_message", "see_image", "find_tools", "search_tools"}
}
