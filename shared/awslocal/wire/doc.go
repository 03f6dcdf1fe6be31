// Package wire holds what the stand-ins for SQS and S3 share at the HTTP boundary: who calls, and how an injected
// fault shows on the connection. It knows no service, and holds no state.
package wire
