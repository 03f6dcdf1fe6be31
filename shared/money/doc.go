// Package money adds up amounts of US dollars without losing a digit: what a model call costs is a small decimal fraction,
// and a sum of many in binary floating point drifts away from what was spent.
//
// An amount has at most [Decimals] decimals and is at most [Max]; both are far beyond any price, and keep every sum that a
// hub can reach within the 38 digits of a number in DynamoDB.
package money
