// Package permission says what an administrator may do: the vocabulary of permissions, the roles, and what each call of
// /admin/* needs (core §10.2, agent §10).
//
//	permission.go   permissions, sets of them, roles
//	required.go     the table from method and path to permissions
//
// The table covers every surface of the contract, also those that this version does not serve, so that an endpoint which
// arrives finds its rule. What the table does not know needs a permission that nobody holds: a forgotten row refuses.
//
// Writing does not include reading: whoever should do both holds both.
package permission
