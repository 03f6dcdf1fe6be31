// Package routetree matches request paths as API Gateway's REST resource tree does: segment by segment, a literal
// before a variable ({name}), a variable before the greedy rest ({name+}).
//
// It differs from net/http's ServeMux where the gateway does: a path is never cleaned or redirected, and GET does
// not imply HEAD. Pure code, no I/O.
package routetree
