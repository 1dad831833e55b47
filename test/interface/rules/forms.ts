/** Forms and what a launch makes of them. */
export const FORMS = {
  'Loading forms': {
    'form.files': 'Files .yml and .yaml below the folder, by relative path, hold one form or a list.',
    'form.first-wins': 'Of two equal names the first wins and the later one is reported.',
    'form.wrong': 'A wrong form is left out and reported with file, line and reason; the others load.',
    'form.read-again': 'Files are read again when they change.',
    'form.list': '/forms lists the forms that the caller may launch; admins see the errors too.',
    'form.needs':
      'Admins see what of the world around it each form needs, and in which fields; form check says the same.',
    'form.foreign-types': 'Types that need a foreign system load, and their launch is 422.',
    'form.unknown-properties': 'Properties that nobody here knows are kept and served.',
    'form.vars-files': 'varsFiles merge deep in order over the constants.',
  },
  'Properties of a job': {
    'property.arguments':
      'playbookSubPath, inventory, tags, limit, check and the others become the arguments of ansible-playbook.',
    'property.fill':
      'A static property fills __<property>__ unless the values hold it; undeclared keys of a client are dropped.',
    'property.user': 'ansibleforms_user and __jobid__ reach the playbook; userExtravars trims the user.',
    'property.jinja': 'Templates in values stay text unless allowJinjaInExtravars.',
  },
  'Fields and extra variables': {
    'field.visibility':
      'dependencies and dependencyFn decide who is shown; hidden fields are neither checked nor sent.',
    'field.rules':
      'required, YAML, sizes, bounds, lengths, regex, validIf, validIfNot, notIn, in and sameAs are checked in this order.',
    'field.choices': 'A choice is among the options.',
    'field.checkbox': 'A required checkbox is true.',
    'field.placeholders': 'Bounds and messages take $(field).',
    'field.regex': 'No pattern of a form hangs the service.',
    'field.output': 'output: false leaves a field out.',
    'field.model': 'model puts a value under dot paths.',
    'field.value-column': 'A select gives its valueColumn or first column.',
    'field.expression': 'value and expression with runLocal are computed in a sandbox with bounds.',
    'field.waiting': 'An expression that needs a data source is taken from the client if editable, else waiting.',
    'field.list': 'Rows of a list go through their subform, 500 a launch.',
    'field.wizard': 'Each step of a wizard is checked; when, optional and defaultModel count.',
  },
  'Launch validation': {
    'validation.enforce':
      'enforce: the extra variables are built by the service, and of the client only __verbose__ counts.',
    'validation.needs-data': 'enforce: rawFormData is needed, {} for a form without fields.',
    'validation.details':
      '422 has details: missing, invalid, waiting, validationErrors, rowErrors, uploads; nothing is created.',
    'validation.log': 'log: checked, differences are logged without values, the extravars of the client run.',
    'validation.off': 'off: the extravars of the client run.',
    'validation.stricter': 'A form can only make it stricter.',
    'validation.upload-claim': 'The description of a file is only a claim: size, name and path come from the service.',
    'validation.upload-travels': 'The file travels to the runner, and the path of its variable is its path there.',
  },
  Credentials: {
    'credential.routes': 'Admins make, read, list, change and delete credentials.',
    'credential.hidden': 'Secrets are shown as ******** and never returned, and rest encrypted.',
    'credential.file': 'credentials.yaml is a second source and wins.',
    'credential.choice': 'a,b takes a, else b.',
    'credential.playbook': 'A credential reaches the playbook under its key and is found nowhere else.',
    'credential.missing': 'A credential that cannot be had fails the job before anything reaches a runner.',
  },
  Approval: {
    'approval.before': 'Nothing reaches a runner before the approval.',
    'approval.then': 'Approved: it runs. Rejected: it never does.',
    'approval.changed':
      'A form or playbook folder that changed since the approval was asked for: 409 changed_since_asked, unless force is said.',
    'approval.written': 'Who decided and when stands in the output and in the audit trail.',
  },
  'The web client of the product family': {
    'family.start': 'What its pages ask before a sign-in is answered without a token, and says nothing about anybody.',
    'family.token': 'The access token says who is signed in: name, type, roles, and options of pages.',
    'family.forms':
      'GET /config/formlist, /config/form and /config (admin) give the forms with categories and constants, each to who may use them.',
    'family.passwords':
      'Where values are checked, a password that is no field value is read among the extra variables at the model of its field, and nothing else is.',
    'family.wizard':
      'A wizard may be sent as drafts of its steps, and comes back so; a model that begins with a slash is at the root.',
    'family.jobs': 'Its requests to follow, abort, approve, reject, launch again and delete a job are answered.',
    'family.lock': 'The lock of the designer also says free, match and lock.',
    'family.missing': 'What of it is not there is 404 in the shape of every error.',
  },
} as const
