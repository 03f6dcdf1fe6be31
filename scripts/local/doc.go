// Command local runs the whole product on one machine: `make dev`.
//
// It needs neither Docker nor an AWS account. Everything it acknowledges is kept in the data directory and survives being
// killed. With -aws-only it serves nothing but the AWS stand-ins, all services on one port.
package main
