"""Write the list of common passwords that accounts may not have.

pip install zxcvbn && python scripts/list_passwords.py
"""

from zxcvbn.frequency_lists import FREQUENCY_LISTS

from davy.people.passwords import COMMON_PASSWORDS, short_hash

hashes = sorted({short_hash(word.casefold()) for word in FREQUENCY_LISTS["passwords"]})
COMMON_PASSWORDS.write_bytes(b"".join(hashes))
print(f"{len(hashes):,} passwords, {COMMON_PASSWORDS.stat().st_size:,} bytes in {COMMON_PASSWORDS}")
