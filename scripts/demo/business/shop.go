package business

import (
	"fmt"
	"time"
)

// cents is an amount of euros; on the wire it is a number of euros.
type cents int64

func (c cents) MarshalJSON() ([]byte, error) {
	return fmt.Appendf(nil, "%d.%02d", c/100, c%100), nil
}

type item struct {
	SKU      string `json:"sku"`
	Name     string `json:"name"`
	Quantity int    `json:"quantity"`
	Price    cents  `json:"price"`
}

type order struct {
	OrderNo    string `json:"order_no"`
	Status     string `json:"status"`
	PlacedOn   string `json:"placed_on"`
	Carrier    string `json:"carrier,omitempty"`
	TrackingNo string `json:"tracking_no,omitempty"`
	ETA        string `json:"eta,omitempty"`
	Items      []item `json:"items"`
	Total      cents  `json:"total"`
	Currency   string `json:"currency"`
	Refunded   cents  `json:"refunded"`

	customer string
}

// statuses are the states of an order, in the order of its life.
var statuses = []string{"paid", "shipped", "delivered", "cancelled"}

type ticket struct {
	TicketNo string    `json:"ticket_no"`
	Status   string    `json:"status"`
	Subject  string    `json:"subject"`
	OrderNo  string    `json:"order_no,omitempty"`
	OpenedAt time.Time `json:"opened_at"`
}

type refund struct {
	RefundNo string `json:"refund_no"`
	Status   string `json:"status"`
	OrderNo  string `json:"order_no"`
	Amount   cents  `json:"amount"`
	Currency string `json:"currency"`
}

// shop is the data. Its owner locks it.
type shop struct {
	orders    []*order // by number
	customers map[string]bool
	tickets   []ticket
	refunds   []refund
}

// newShop holds orders as they would stand at now, so that nothing is expected in the past.
func newShop(now time.Time) shop {
	day := func(n int) string { return now.AddDate(0, 0, n).Format(time.DateOnly) }
	s := shop{
		customers: map[string]bool{"u_42": true, "u_7": true},
		orders: []*order{
			{OrderNo: "SO-1001", customer: "u_42", Status: "shipped", PlacedOn: day(-4), Carrier: "DHL", TrackingNo: "JD014600003SE", ETA: day(2),
				Items: []item{{"KB-75", "Mechanical keyboard", 1, 8900}, {"CBL-2", "USB-C cable, 2 m", 2, 1250}}},
			{OrderNo: "SO-1002", customer: "u_42", Status: "paid", PlacedOn: day(-1), ETA: day(5),
				Items: []item{{"MON-27", "Monitor, 27 inch", 1, 32900}}},
			{OrderNo: "SO-1003", customer: "u_42", Status: "delivered", PlacedOn: day(-21), Carrier: "UPS", TrackingNo: "1Z999AA10123456784",
				Items: []item{{"LMP-1", "Desk lamp", 1, 4500}}},
			{OrderNo: "SO-1004", customer: "u_42", Status: "cancelled", PlacedOn: day(-30),
				Items: []item{{"CHR-9", "Office chair", 1, 21900}}},
			{OrderNo: "SO-1005", customer: "u_7", Status: "shipped", PlacedOn: day(-2), Carrier: "GLS", TrackingNo: "GLS-50471120", ETA: day(1),
				Items: []item{{"HP-300", "Headphones", 1, 14900}}},
			{OrderNo: "SO-1006", customer: "u_7", Status: "delivered", PlacedOn: day(-12), Carrier: "DHL", TrackingNo: "JD014600009SE",
				Items: []item{{"MSE-4", "Mouse", 1, 3900}, {"PAD-1", "Mouse pad", 1, 900}}},
		},
	}
	for _, o := range s.orders {
		o.Currency = "EUR"
		for _, i := range o.Items {
			o.Total += cents(i.Quantity) * i.Price
		}
	}
	return s
}

// authorizes is the rule that every operation with a subject begins with: the subject is a customer.
func (s *shop) authorizes(subject string) bool { return s.customers[subject] }

// find is the order with this number; nil when there is none.
func (s *shop) find(orderNo string) *order {
	for _, o := range s.orders {
		if o.OrderNo == orderNo {
			return o
		}
	}
	return nil
}
