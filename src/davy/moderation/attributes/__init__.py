"""What the attributes of Perspective and OpenAI's moderation mean here, as YAML."""
