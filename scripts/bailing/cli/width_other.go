//go:build !linux && !darwin

package cli

// terminalWidth is not known here; COLUMNS may say it.
func terminalWidth(uintptr) int { return 0 }
