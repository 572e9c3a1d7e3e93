"""Sample posts for labelling by a plan whose samplers fill their quotas."""
