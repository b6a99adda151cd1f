package embedded

// methodID is a method's class in the upper and its number in the lower 16 bits, as they follow each other on the wire.
type methodID uint32

const (
	connectionStart     methodID = 10<<16 | 10
	connectionStartOK   methodID = 10<<16 | 11
	connectionTune      methodID = 10<<16 | 30
	connectionTuneOK    methodID = 10<<16 | 31
	connectionOpen      methodID = 10<<16 | 40
	connectionOpenOK    methodID = 10<<16 | 41
	connectionClose     methodID = 10<<16 | 50
	connectionCloseOK   methodID = 10<<16 | 51
	connectionBlocked   methodID = 10<<16 | 60
	connectionUnblocked methodID = 10<<16 | 61
	updateSecret        methodID = 10<<16 | 70
	updateSecretOK      methodID = 10<<16 | 71

	channelOpen    methodID = 20<<16 | 10
	channelOpenOK  methodID = 20<<16 | 11
	channelFlow    methodID = 20<<16 | 20
	channelFlowOK  methodID = 20<<16 | 21
	channelClose   methodID = 20<<16 | 40
	channelCloseOK methodID = 20<<16 | 41

	accessRequest   methodID = 30<<16 | 10
	accessRequestOK methodID = 30<<16 | 11

	exchangeDeclare   methodID = 40<<16 | 10
	exchangeDeclareOK methodID = 40<<16 | 11
	exchangeDelete    methodID = 40<<16 | 20
	exchangeDeleteOK  methodID = 40<<16 | 21
	exchangeBind      methodID = 40<<16 | 30
	exchangeBindOK    methodID = 40<<16 | 31
	exchangeUnbind    methodID = 40<<16 | 40
	exchangeUnbindOK  methodID = 40<<16 | 51

	queueDeclare   methodID = 50<<16 | 10
	queueDeclareOK methodID = 50<<16 | 11
	queueBind      methodID = 50<<16 | 20
	queueBindOK    methodID = 50<<16 | 21
	queuePurge     methodID = 50<<16 | 30
	queuePurgeOK   methodID = 50<<16 | 31
	queueDelete    methodID = 50<<16 | 40
	queueDeleteOK  methodID = 50<<16 | 41
	queueUnbind    methodID = 50<<16 | 50
	queueUnbindOK  methodID = 50<<16 | 51

	basicQos          methodID = 60<<16 | 10
	basicQosOK        methodID = 60<<16 | 11
	basicConsume      methodID = 60<<16 | 20
	basicConsumeOK    methodID = 60<<16 | 21
	basicCancel       methodID = 60<<16 | 30
	basicCancelOK     methodID = 60<<16 | 31
	basicPublish      methodID = 60<<16 | 40
	basicReturn       methodID = 60<<16 | 50
	basicDeliver      methodID = 60<<16 | 60
	basicGet          methodID = 60<<16 | 70
	basicGetOK        methodID = 60<<16 | 71
	basicGetEmpty     methodID = 60<<16 | 72
	basicAck          methodID = 60<<16 | 80
	basicReject       methodID = 60<<16 | 90
	basicRecoverAsync methodID = 60<<16 | 100
	basicRecover      methodID = 60<<16 | 110
	basicRecoverOK    methodID = 60<<16 | 111
	basicNack         methodID = 60<<16 | 120

	confirmSelect   methodID = 85<<16 | 10
	confirmSelectOK methodID = 85<<16 | 11

	txSelect     methodID = 90<<16 | 10
	txSelectOK   methodID = 90<<16 | 11
	txCommit     methodID = 90<<16 | 20
	txCommitOK   methodID = 90<<16 | 21
	txRollback   methodID = 90<<16 | 30
	txRollbackOK methodID = 90<<16 | 31
)

const basicClass = 60
