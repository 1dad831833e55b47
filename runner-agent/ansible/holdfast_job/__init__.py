"""What runs beside ansible-playbook on a runner host: the supervisor's parts and the writing of event lines."""
