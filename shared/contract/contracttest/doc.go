// Package contracttest lets the tests of a function check real answers against the artefacts that the hub serves.
//
// References between schemas are followed through the functions of package contract, that is, exactly as a caller
// who downloads them would. Only tests import this package.
package contracttest
