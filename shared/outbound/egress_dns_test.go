package outbound

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/netip"
	"strings"
)

// zoneResolver is Go's own resolver before a name server that follows answers: "CNAME name" lines are a chain from
// the name asked to the one that owns the addresses after them.
func zoneResolver(lines []string) *net.Resolver {
	return &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		client, server := net.Pipe()
		go serveDNS(server, lines) // ends when the resolver closes its end
		return client, nil
	}}
}

// serveDNS speaks DNS with the length prefix of TCP (RFC 1035 §4.2.2).
func serveDNS(conn net.Conn, lines []string) {
	defer conn.Close()
	for {
		var length [2]byte
		if _, err := io.ReadFull(conn, length[:]); err != nil {
			return
		}
		query := make([]byte, binary.BigEndian.Uint16(length[:]))
		if _, err := io.ReadFull(conn, query); err != nil {
			return
		}
		answer, err := answerDNS(query, lines)
		if err != nil {
			return
		}
		if _, err := conn.Write(append(binary.BigEndian.AppendUint16(nil, uint16(len(answer))), answer...)); err != nil {
			return
		}
	}
}

const dnsHeader = 12 // bytes

var errQuery = errors.New("not a query")

func answerDNS(query []byte, lines []string) ([]byte, error) {
	end := dnsHeader
	for end < len(query) && query[end] != 0 {
		end += 1 + int(query[end])
	}
	end++
	if end+4 > len(query) {
		return nil, errQuery
	}
	owner, kind := query[dnsHeader:end], binary.BigEndian.Uint16(query[end:])
	const typeA, typeCNAME, typeAAAA = 1, 5, 28
	var records []byte
	var count uint16
	add := func(kind uint16, data []byte) {
		records = append(records, owner...)
		records = binary.BigEndian.AppendUint16(records, kind)
		records = append(records, 0, 1, 0, 0, 0, 0) // class IN, TTL 0
		records = binary.BigEndian.AppendUint16(records, uint16(len(data)))
		records = append(records, data...)
		count++
	}
	for _, line := range lines {
		if name, ok := strings.CutPrefix(line, "CNAME "); ok {
			target := dnsName(name)
			add(typeCNAME, target)
			owner = target
			continue
		}
		addr := netip.MustParseAddr(line)
		if addr.Is4() && kind == typeA || addr.Is6() && kind == typeAAAA {
			add(kind, addr.AsSlice())
		}
	}
	answer := append([]byte{}, query[:2]...)
	answer = append(answer, 0x81, 0x80, 0, 1) // an answer without error, recursion available, one question
	answer = binary.BigEndian.AppendUint16(answer, count)
	answer = append(answer, 0, 0, 0, 0)
	answer = append(answer, query[dnsHeader:end+4]...)
	return append(answer, records...), nil
}

func dnsName(name string) []byte {
	var out []byte
	for label := range strings.SplitSeq(strings.TrimSuffix(name, "."), ".") {
		out = append(append(out, byte(len(label))), label...)
	}
	return append(out, 0)
}
