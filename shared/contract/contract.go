package contract

import (
	"embed"
	"io/fs"
	"strings"
)

//go:embed client-api/v1/*.json schemas openapi.json
var files embed.FS

// ClientAPI returns a file of the client-api v1 pack by its name, such as "manifest.json"; ok is false for a name that
// the pack does not have. The caller owns the slice.
func ClientAPI(file string) (b []byte, ok bool) {
	if strings.Contains(file, "/") {
		return nil, false
	}
	return read("client-api/v1/", file, ".json")
}

// Schema returns a JSON Schema by its path below /schemas/, such as "config/client.schema.json"; ok is false when there
// is none. A path holds letters, digits and "_./-" only and never leaves the schemas (core §1.7). The caller owns the
// slice.
func Schema(path string) (b []byte, ok bool) {
	return read("schemas/", path, ".schema.json")
}

// OpenAPI returns the OpenAPI 3.1 document of the HTTP surface. The caller owns the slice.
func OpenAPI() []byte {
	b, _ := read("", "openapi.json", ".json")
	return b
}

func read(folder, name, suffix string) ([]byte, bool) {
	if !strings.HasSuffix(name, suffix) || strings.IndexFunc(name, notPathCharacter) >= 0 || !fs.ValidPath(name) {
		return nil, false
	}
	b, err := files.ReadFile(folder + name)
	return b, err == nil
}

func notPathCharacter(r rune) bool {
	switch {
	case 'a' <= r && r <= 'z', 'A' <= r && r <= 'Z', '0' <= r && r <= '9':
		return false
	}
	return !strings.ContainsRune("_./-", r)
}
