// Package operate holds the commands about a running hub: jobs, the kill switch, its status, what its configuration lacks, and
// who changed it (core §10.3).
package operate
