package embedded

import "time"

// tuneOK takes what the client made of the proposal.
//
//	channel-max short · frame-max long · heartbeat short, in seconds, 0 for none
func (c *connection) tuneOK(d *decoder) (heartbeat time.Duration, refused *exception) {
	channelMax, frameMax := d.short(), d.long()
	heartbeat = time.Duration(d.short()) * time.Second
	limits := &c.broker.limits
	if refused := negotiable("channel_max", 1, int64(limits.ChannelMax), int64(channelMax)); refused != nil {
		return 0, refused
	}
	if refused := negotiable("frame_max", minFrameMax, int64(limits.FrameMax), int64(frameMax)); refused != nil {
		return 0, refused
	}
	c.channelMax = channelMax
	c.in.max = frameMax
	c.out.tuned(frameMax, heartbeat)
	return heartbeat, nil
}

// negotiable refuses a client's value outside least to most. 0 stands for "no limit", which is too much.
func negotiable(name string, least, most, got int64) *exception {
	detail := ""
	if name == "channel_max" && got == 0 {
		detail = " (no limit)"
	}
	switch {
	case got != 0 && got < least:
		return fail(replyNotAllowed, "negotiated %s = %d%s is lower than the minimum allowed value (%d)", name, got,
			detail, least)
	case got == 0 || got > most:
		return fail(replyNotAllowed, "negotiated %s = %d%s is higher than the maximum allowed value (%d)", name, got,
			detail, most)
	}
	return nil
}
