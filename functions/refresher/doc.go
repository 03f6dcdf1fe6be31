// Package refresher runs once a minute and keeps specifications up to date: it reads those whose auto_refresh_min has elapsed
// from their URLs (core §4.3), and compiles stored ones anew that an older release compiled.
//
// It is apart from the sweeper, because it alone links the compiler, opens providers' secrets and waits for businesses. Two rounds
// may run side by side, and one may die anywhere; see package provider.
package refresher
