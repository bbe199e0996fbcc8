"""What every REST operation goes through: declaration, decoding, permissions, responses, errors."""
