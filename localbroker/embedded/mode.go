package embedded

// handleMode switches a channel to confirm or transaction mode and does the transaction's methods.
func (ch *channel) handleMode(id methodID, d *decoder) *exception {
	switch id {
	case confirmSelect:
		noWait := d.bits().has(0)
		if ch.tx.on {
			return fail(replyPreconditionFailed, "cannot switch from tx to confirm mode")
		}
		ch.confirms.on = true
		ch.reply(noWait, confirmSelectOK, nil)
	case txSelect:
		if ch.confirms.on {
			return fail(replyPreconditionFailed, "cannot switch from confirm to tx mode")
		}
		ch.tx.on = true
		ch.send(txSelectOK, nil)
	case txCommit, txRollback:
		return ch.endTx(id)
	default:
		return unknownMethod()
	}
	return nil
}

func (ch *channel) endTx(id methodID) *exception {
	if !ch.tx.on {
		return fail(replyPreconditionFailed, "channel is not transactional")
	}
	if id == txCommit {
		ch.tx.commit(ch)
		ch.send(txCommitOK, nil)
		return nil
	}
	ch.tx.rollback(ch)
	ch.send(txRollbackOK, nil)
	return nil
}
