// Package accounttest has a store of accounts in memory, and the rules that every store of them keeps.
package accounttest
