package store

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/smithy-go"
)

// ErrValueMissing says that no object is stored under a content address.
var ErrValueMissing = errors.New("store: value missing")

// Values keeps immutable byte strings under the hex SHA-256 of their content. Storing the same bytes twice is harmless.
type Values interface {
	// PutValue stores b and returns its address. It is called before the transaction that refers to the address.
	PutValue(ctx context.Context, b []byte) (address string, err error)
	// GetValue returns the bytes stored under address, or ErrValueMissing.
	GetValue(ctx context.Context, address string) ([]byte, error)
}

// S3 is the part of the client that S3Values uses.
type S3 interface {
	PutObject(context.Context, *s3.PutObjectInput, ...func(*s3.Options)) (*s3.PutObjectOutput, error)
	GetObject(context.Context, *s3.GetObjectInput, ...func(*s3.Options)) (*s3.GetObjectOutput, error)
}

// S3Values keeps values as objects "v/<address>" of one bucket.
type S3Values struct {
	Client S3
	Bucket string
}

var _ Values = (*S3Values)(nil)

// Address is the content address of b.
func Address(b []byte) string {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:])
}

// PutValue writes the object unless it exists.
func (v *S3Values) PutValue(ctx context.Context, b []byte) (string, error) {
	address := Address(b)
	_, err := v.Client.PutObject(ctx, &s3.PutObjectInput{
		Bucket: aws.String(v.Bucket), Key: aws.String("v/" + address), Body: bytes.NewReader(b),
		ContentLength: aws.Int64(int64(len(b))), IfNoneMatch: aws.String("*"),
	}, retryConflicts)
	if err != nil && errorCode(err) != "PreconditionFailed" { // that one says that the same content is there already
		return "", fmt.Errorf("store: put value: %w", err)
	}
	return address, nil
}

// retryConflicts makes the SDK try a put again that met another put of the same content: S3 answers 409 until that one is
// finished, and the SDK takes a 409 for final.
func retryConflicts(o *s3.Options) {
	o.Retryer = retry.AddWithErrorCodes(o.Retryer, "ConditionalRequestConflict")
}

// errorCode is the code of an error that AWS answered with; "" for any other.
func errorCode(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

// GetValue reads the object and verifies that it is what its address says. S3 tells a missing object from a forbidden one only
// to those who may list the bucket; for others a missing value is an error like any other.
func (v *S3Values) GetValue(ctx context.Context, address string) ([]byte, error) {
	out, err := v.Client.GetObject(ctx, &s3.GetObjectInput{Bucket: aws.String(v.Bucket), Key: aws.String("v/" + address)})
	if code := errorCode(err); code == "NoSuchKey" || code == "NotFound" {
		return nil, ErrValueMissing
	}
	if err != nil {
		return nil, fmt.Errorf("store: get value: %w", err)
	}
	defer out.Body.Close()
	b, err := io.ReadAll(out.Body)
	if err != nil {
		return nil, fmt.Errorf("store: get value: %w", err)
	}
	if Address(b) != address {
		return nil, fmt.Errorf("store: value %s does not match its address", address)
	}
	return b, nil
}

// inlineMax is the largest value kept inside an item; larger ones go to Values.
const inlineMax = 32 << 10

// setLarge puts b into it as attribute name, or its content address as name+"_ref" when b is larger than inlineMax.
func (s *Store) setLarge(ctx context.Context, it item, name string, b []byte) error {
	if len(b) == 0 {
		return nil
	}
	if len(b) <= inlineMax {
		it[name] = binary(b)
		return nil
	}
	address, err := s.values.PutValue(ctx, b)
	if err != nil {
		return err
	}
	it[name+"_ref"] = str(address)
	return nil
}

// getLarge returns what setLarge stored; nil when the attribute was never set.
func (s *Store) getLarge(ctx context.Context, it item, name string) ([]byte, error) {
	if b := getBytes(it, name); b != nil {
		return b, nil
	}
	if address := getStr(it, name+"_ref"); address != "" {
		return s.values.GetValue(ctx, address)
	}
	return nil, nil
}

// PutValue stores a content-addressed value; see [Values].
func (s *Store) PutValue(ctx context.Context, b []byte) (string, error) {
	return s.values.PutValue(ctx, b)
}

// GetValue reads a content-addressed value; see [Values].
func (s *Store) GetValue(ctx context.Context, address string) ([]byte, error) {
	return s.values.GetValue(ctx, address)
}
