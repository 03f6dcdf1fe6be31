// Package operate holds the commands about a running hub: jobs, the kill switch, its status, what its configuration lacks, who
// changed it, and what its jobs used (core §10.3).
package operate
