/** What goes in and what comes out, field by field. */
export const RESOURCES = {
  'What the service does': {
    'service.job-is-a-run': 'A job is one run of a form, launched by its name and followed by the number of the job.',
    'service.playbook-job': 'A job may be a playbook job.',
    'service.multistep-job': 'A job may be a multistep job.',
    'service.workflow-job': 'A job may be a workflow job.',
    'service.on-a-runner': 'A job can run on a runner.',
    'service.inbound-runner':
      'A runner whose host may not dial out is dialled by the control plane; both sides prove their keys.',
    'service.approval-first': 'A job can need an approval before it runs.',
    'service.changes-by-name':
      'Clients learn the name of what changed from the stream and read it again over the normal routes.',
    'service.monitoring': 'Liveness, readiness and metrics are there for monitoring tools.',
  },
  'Launch request': {
    'launch.formname': 'formName, a text, is needed and names the form.',
    'launch.extravars': 'extravars, an object, holds the extra variables.',
    'launch.numbers':
      'Numbers of a launch reach the playbook and its events digit by digit; one that cannot is 400 inexact_number and named.',
    'launch.payload': 'payload is another name for extravars.',
    'launch.rawformdata':
      'rawFormData, an object, holds the values of the fields; the launch checks them and builds the extra variables from them.',
    'launch.credentials':
      'credentials, an object, hands credentials to the job by their names, also where launches are checked: 403 for one that the roles do not allow, 422 for an unknown variable or credential.',
    'launch.files': 'files, an object, has one key for each file field with the upload description, unchanged.',
    'launch.unknown-fields':
      'rawFormData with a name that is no field is refused with the nearest name, unless LAUNCH_UNKNOWN_FIELDS says otherwise.',
    'launch.null': 'null for an optional object of the launch is as if it were not there.',
    'launch.verbose':
      '__verbose__ true among the extra variables runs the job in verbose mode; it is judged by its truth.',
  },
  'Launch response': {
    'launch.id': 'The answer is the id of the new job, an integer.',
  },
  'Upload description': {
    'upload.fieldname': 'fieldname is the name of the part, file.',
    'upload.originalname': 'originalname is the name of the uploaded file.',
    'upload.encoding': 'encoding is a text.',
    'upload.mimetype': 'mimetype is a text.',
    'upload.destination': 'destination is the folder on the server.',
    'upload.filename': 'filename is the stored name.',
    'upload.path': 'path is the folder and the stored name.',
    'upload.size': 'size is the number of bytes.',
  },
  Job: {
    'job.status': 'status is one of the eight statuses.',
    'job.extravars': 'extravars is the object of the extra variables.',
    'job.payload': 'payload is the same object.',
    'job.subjobs': 'subjobs are the subjobs of the job.',
    'job.output-html': 'output is HTML with colours unless something else is asked for.',
    'job.output-text': 'output is plain text with text=true.',
  },
  'Job record': {
    'record.id': 'A record of the list has the id.',
    'record.form': 'A record has the form.',
    'record.status': 'A record has the status.',
    'record.start': 'A record has the start.',
    'record.end': 'A record has the end.',
    'record.user': 'A record has the user.',
    'record.runner': 'A record has the runner.',
    'record.summary-only': 'Extra variables and output are read from the job, not from its record.',
  },
  'List response': {
    'list.count': 'count is the number of records in the answer.',
    'list.records': 'records are the jobs, newest first.',
  },
  Node: {
    'node.node': 'node describes the node.',
    'node.job': 'job is the id of the job of the node.',
    'node.job-null': 'job is null when the node did not run.',
    'node.extravars': 'extravars are those of the node.',
    'node.artifacts': 'artifacts are what the node published.',
  },
  'Action message': {
    'action.abort': 'The answer of an abort has a message.',
    'action.approve': 'The answer of an approval has a message.',
    'action.reject': 'The answer of a rejection has a message.',
    'action.delete': 'The answer of a deletion has a message.',
    'action.relaunch': 'The answer of a relaunch has a message.',
    'action.relaunch-id': 'The answer of a relaunch, and of no other action, has the id of the new job.',
  },
} as const
