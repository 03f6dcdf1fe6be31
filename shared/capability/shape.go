package capability

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"

	"bailing/shared/textlimit"
)

// What a model reads of a business's answer, in UTF-16 units (core §5.10).
const (
	MaxResultText = 8192 // of a 2xx body
	MaxErrorText  = 2048 // of any other body, after the line that names the status
)

// Shaped is an answer as the model receives it. The text is data, never instructions.
type Shaped struct {
	Text string
	OK   bool // the status was 2xx
}

// ShapeResult turns an answer that arrived into the text of core §5.10. An error page in HTML is summed up in one line:
// its mark-up tells a model nothing and the audit keeps the page.
func ShapeResult(status int, contentType string, body []byte) Shaped {
	ok := status >= 200 && status <= 299
	head := "HTTP " + strconv.Itoa(status)
	body = bytes.TrimPrefix(body, []byte("\xEF\xBB\xBF"))
	switch {
	case len(body) == 0:
		return Shaped{Text: head + " empty", OK: ok}
	case ok:
		return Shaped{Text: cutBody(body, MaxResultText), OK: true}
	case isHTML(contentType, body):
		page := strings.ToValidUTF8(string(body), "\uFFFD")
		return Shaped{Text: fmt.Sprintf("%s\nHTML page of %d characters, left out.", head, textlimit.Len(page))}
	default:
		return Shaped{Text: head + "\n" + cutBody(body, MaxErrorText)}
	}
}

// cutBody decodes no more of the body than max units can come from: a unit takes at most three bytes.
func cutBody(body []byte, max int) string {
	if enough := 3*max + 3; len(body) > enough {
		body = body[:enough]
	}
	return textlimit.Cut(strings.ToValidUTF8(string(body), "\uFFFD"), max)
}

func isHTML(contentType string, body []byte) bool {
	media, _, _ := strings.Cut(contentType, ";")
	switch strings.ToLower(strings.TrimSpace(media)) {
	case "text/html", "application/xhtml+xml":
		return true
	case "", "text/plain": // servers that do not say, or say it wrong
	default:
		return false
	}
	start := bytes.ToLower(bytes.TrimLeft(body[:min(len(body), 512)], " \t\r\n"))
	return bytes.HasPrefix(start, []byte("<!doctype html")) || bytes.HasPrefix(start, []byte("<html"))
}
