// Package ordered is a sorted map from strings to values, the only index structure of the DynamoDB stand-in.
//
// It is a list of blocks of at most a few hundred entries each. An insert or delete moves at most one block, and rarely
// the list of blocks, so a million keys in one partition stay cheap; iteration in both directions is a walk over arrays.
//
// It is not safe for concurrent use: its owner locks.
package ordered
