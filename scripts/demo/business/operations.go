package business

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// Limits of what callers may say, in characters, and of a list.
const (
	maxTitle     = 120
	maxText      = 4000
	defaultLimit = 20
	maxLimit     = 50
)

var forbidden = refuse(http.StatusForbidden, "forbidden")

// visible is the order, when the request's subject may see it. Somebody else's order is forbidden; an order that does not
// exist is not found, but only for a customer.
func (b *Business) visible(r request, orderNo string) (*order, reply) {
	if !b.shop.authorizes(r.subject) {
		return nil, forbidden
	}
	o := b.shop.find(orderNo)
	switch {
	case o == nil:
		return nil, refuse(http.StatusNotFound, "order not found")
	case o.customer != r.subject:
		return nil, forbidden
	}
	return o, reply{}
}

func (b *Business) orderGet(r request) reply {
	o, no := b.visible(r, r.PathValue("order_no"))
	if o == nil {
		return no
	}
	return reply{http.StatusOK, *o}
}

func (b *Business) orderSearch(r request) reply {
	if !b.shop.authorizes(r.subject) {
		return forbidden
	}
	query := r.URL.Query()
	status, limit := query.Get("status"), defaultLimit
	if status != "" && !slices.Contains(statuses, status) {
		return refuse(http.StatusBadRequest, "status is one of "+strings.Join(statuses, ", "))
	}
	if text := query.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > maxLimit {
			return refuse(http.StatusBadRequest, fmt.Sprintf("limit is 1 to %d", maxLimit))
		}
		limit = n
	}
	found, total := []order{}, 0
	for _, o := range b.shop.orders {
		if o.customer != r.subject || (status != "" && o.Status != status) {
			continue
		}
		if total++; len(found) < limit {
			found = append(found, *o)
		}
	}
	return reply{http.StatusOK, map[string]any{"orders": found, "total": total}}
}

func (b *Business) ticketCreate(r request) reply {
	if !b.shop.authorizes(r.subject) {
		return forbidden
	}
	var in struct {
		Subject string `json:"subject"`
		Body    string `json:"body"`
		OrderNo string `json:"order_no"`
	}
	if err := decode(r.body, &in); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	if no := text("subject", in.Subject, maxTitle); no != nil {
		return *no
	}
	if no := text("body", in.Body, maxText); no != nil {
		return *no
	}
	if in.OrderNo != "" {
		if o, no := b.visible(r, in.OrderNo); o == nil {
			return no
		}
	}
	t := ticket{
		TicketNo: fmt.Sprintf("T-%04d", len(b.shop.tickets)+1), Status: "open", Subject: in.Subject, OrderNo: in.OrderNo,
		OpenedAt: b.o.Clock.Now(),
	}
	b.shop.tickets = append(b.shop.tickets, t)
	return reply{http.StatusCreated, t}
}

func (b *Business) refundCreate(r request) reply {
	var in struct {
		OrderNo string      `json:"order_no"`
		Amount  json.Number `json:"amount"`
		Reason  string      `json:"reason"`
	}
	if err := decode(r.body, &in); err != nil {
		return refuse(http.StatusBadRequest, err.Error())
	}
	o, no := b.visible(r, in.OrderNo)
	if o == nil {
		return no
	}
	amount, ok := parseAmount(in.Amount)
	if !ok {
		return refuse(http.StatusBadRequest, "amount is a positive number with at most two decimals")
	}
	if no := text("reason", in.Reason, maxTitle); no != nil {
		return *no
	}
	if o.Status == "cancelled" || amount > o.Total-o.Refunded {
		return refuse(http.StatusConflict, "the amount is more than what is left to refund")
	}
	o.Refunded += amount
	f := refund{
		RefundNo: fmt.Sprintf("R-%04d", len(b.shop.refunds)+1), Status: "booked", OrderNo: o.OrderNo, Amount: amount, Currency: o.Currency,
	}
	b.shop.refunds = append(b.shop.refunds, f)
	return reply{http.StatusCreated, f}
}

// reportBroken is the operation that fails, so that a failure can be watched.
func reportBroken(request) reply {
	return refuse(http.StatusInternalServerError, "the report engine is down")
}

func decode(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the body does not fit: %w", err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return errors.New("the body is more than one JSON document")
	}
	return nil
}

func text(name, value string, limit int) *reply {
	if n := utf8.RuneCountInString(strings.TrimSpace(value)); n >= 1 && n <= limit {
		return nil
	}
	no := refuse(http.StatusBadRequest, fmt.Sprintf("%s has 1 to %d characters", name, limit))
	return &no
}

// parseAmount reads a positive amount of euros exactly: 0.1 is ten cents, 1e2 a hundred euros. The range is checked before
// the number is expanded: 1e999999999 is a short text.
func parseAmount(n json.Number) (cents, bool) {
	f, err := n.Float64()
	if err != nil || f < 0.01 || f > 1e9 || len(n) > 20 {
		return 0, false
	}
	r, ok := new(big.Rat).SetString(n.String())
	if !ok {
		return 0, false
	}
	r.Mul(r, big.NewRat(100, 1))
	if !r.IsInt() {
		return 0, false
	}
	return cents(r.Num().Int64()), true
}
