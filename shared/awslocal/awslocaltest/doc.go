// Package awslocaltest starts the AWS stand-ins inside a test and configures clients for them. Only tests import it.
package awslocaltest
