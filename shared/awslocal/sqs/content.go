package sqs

import (
	"crypto/md5"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"maps"
	"math/big"
	"slices"
	"strconv"
	"strings"
)

const (
	maxAttributes    = 10
	maxAttributeName = 256
	maxDataType      = 256
)

// attributeValue is a message attribute as it is on the wire and in the journal.
type attributeValue struct {
	DataType         string   `json:"DataType"`
	StringValue      *string  `json:"StringValue,omitempty"`
	BinaryValue      []byte   `json:"BinaryValue,omitempty"`
	StringListValues []string `json:"StringListValues,omitempty"`
	BinaryListValues [][]byte `json:"BinaryListValues,omitempty"`
}

// checkCharacters refuses what XML 1.0 cannot carry, as SQS does.
func checkCharacters(s string) error {
	for _, c := range s {
		switch {
		case c == '\t', c == '\n', c == '\r', c >= 0x20 && c <= 0xD7FF, c >= 0xE000 && c <= 0xFFFD, c >= 0x10000:
		default:
			return modelled("InvalidMessageContents", false, "Invalid binary character '#x%X' was found in the message body, the set of allowed "+
				"characters is #x9 | #xA | #xD | [#x20 to #xD7FF] | [#xE000 to #xFFFD] | [#x10000 to #x10FFFF]", c)
		}
	}
	return nil
}

// size is what counts against the limits: the body, and name, type and value of every attribute, in bytes.
func size(body string, attributes map[string]attributeValue) int {
	n := len(body)
	for name, a := range attributes {
		n += len(name) + len(a.DataType) + len(a.BinaryValue)
		if a.StringValue != nil {
			n += len(*a.StringValue)
		}
	}
	return n
}

func checkAttributes(attributes map[string]attributeValue) error {
	if len(attributes) > maxAttributes {
		return errParameter("Number of message attributes [%d] exceeds the allowed maximum [%d].", len(attributes), maxAttributes)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		if err := checkAttributeName(name); err != nil {
			return err
		}
		if err := checkAttributeValue(name, attributes[name]); err != nil {
			return err
		}
	}
	return nil
}

func checkAttributeName(name string) error {
	lower := strings.ToLower(name)
	switch {
	case name == "" || len(name) > maxAttributeName, strings.Trim(name, nameCharacters+".") != "",
		strings.HasPrefix(name, "."), strings.HasSuffix(name, "."), strings.Contains(name, ".."):
		return errParameter("Message attribute name %q is invalid: 1 to %d letters, digits, '_', '-' and '.', no '.' at an end or doubled.",
			name, maxAttributeName)
	case strings.HasPrefix(lower, "aws."), strings.HasPrefix(lower, "amazon."):
		return errParameter("Message attribute name %q is invalid: its prefix is reserved.", name)
	}
	return nil
}

func checkAttributeValue(name string, a attributeValue) error {
	if a.StringListValues != nil || a.BinaryListValues != nil {
		return errParameter("Message attribute list values in the attribute %q are not supported.", name)
	}
	logical, _, _ := strings.Cut(a.DataType, ".")
	if len(a.DataType) > maxDataType {
		return errParameter("The message attribute %q has a type longer than %d bytes.", name, maxDataType)
	}
	if a.StringValue != nil && a.BinaryValue != nil {
		return errParameter("The message attribute %q must have one value.", name)
	}
	switch logical {
	case "String", "Number":
		if a.StringValue == nil || *a.StringValue == "" {
			return errParameter("The message attribute %q must contain a non-empty value of type String.", name)
		}
		if logical == "Number" && !isNumber(*a.StringValue) {
			return errParameter("Can't cast the value of the message attribute %q to a number.", name)
		}
		return checkCharacters(*a.StringValue)
	case "Binary":
		if len(a.BinaryValue) == 0 {
			return errParameter("The message attribute %q must contain a non-empty value of type Binary.", name)
		}
		return nil
	}
	return errParameter("The type of the message attribute %q is invalid: it must begin with String, Number or Binary.", name)
}

// isNumber reports whether s is a decimal number that SQS can hold: at most 38 significant digits, zero or of a magnitude
// from 10^-128 to 10^126.
func isNumber(s string) bool {
	mantissa, exponent, hasExponent := strings.Cut(strings.ToLower(s), "e")
	if hasExponent {
		if n, err := strconv.Atoi(exponent); err != nil || n < -1000 || n > 1000 {
			return false
		}
	}
	digits := strings.TrimLeft(mantissa, "+-")
	if len(s) > 512 || len(mantissa)-len(digits) > 1 || strings.Trim(digits, "0123456789.") != "" {
		return false
	}
	significant := strings.Trim(strings.Replace(digits, ".", "", 1), "0")
	r, ok := new(big.Rat).SetString(s)
	if !ok || len(significant) > 38 {
		return false
	}
	power := func(n int64) *big.Int { return new(big.Int).Exp(big.NewInt(10), big.NewInt(n), nil) }
	r.Abs(r)
	return r.Sign() == 0 || r.Cmp(new(big.Rat).SetFrac(big.NewInt(1), power(128))) >= 0 && r.Cmp(new(big.Rat).SetInt(power(126))) <= 0
}

func md5Hex(s string) string {
	sum := md5.Sum([]byte(s))
	return hex.EncodeToString(sum[:])
}

// md5Attributes is the digest that clients verify: attributes by name, each as length-prefixed name and type, a byte for
// the kind of value, and the length-prefixed value.
func md5Attributes(attributes map[string]attributeValue) string {
	if len(attributes) == 0 {
		return ""
	}
	var b []byte
	put := func(s string) {
		b = binary.BigEndian.AppendUint32(b, uint32(len(s)))
		b = append(b, s...)
	}
	for _, name := range slices.Sorted(maps.Keys(attributes)) {
		a := attributes[name]
		put(name)
		put(a.DataType)
		if a.StringValue != nil {
			b = append(b, 1)
			put(*a.StringValue)
		} else {
			b = append(b, 2)
			put(string(a.BinaryValue))
		}
	}
	return md5Hex(string(b))
}

// messageID derives an id in the form of a UUID from the message's number: unique in one directory, the same in every run.
func messageID(seq uint64) string {
	h := sha256.Sum256(fmt.Appendf(nil, "message %d", seq))
	h[6] = h[6]&0x0f | 0x80 // version 8: made by the application
	h[8] = h[8]&0x3f | 0x80
	return fmt.Sprintf("%x-%x-%x-%x-%x", h[:4], h[4:6], h[6:8], h[8:10], h[10:16])
}
