package federation

import "testing"

func TestARefusalKeepsWhatIsWrongApartFromWhatToDo(t *testing.T) {
	for _, c := range []struct{ given, read Refusal }{
		{Refusal{"the store is full", ""}, Refusal{"the store is full", ""}},
		{Refusal{"store rewound", "stop the router; then run it"}, Refusal{"store rewound", "stop the router; then run it"}},
		{Refusal{"cannot be read: bad version; 3 bytes left", ""}, Refusal{"cannot be read: bad version, 3 bytes left", ""}},
		{Refusal{"one; two", "three"}, Refusal{"one, two", "three"}},
	} {
		if got := ParseRefusal(c.given.Text()); got != c.read {
			t.Errorf("%+v was read as %+v, want %+v", c.given, got, c.read)
		}
	}
}
