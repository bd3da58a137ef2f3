# Writes FROM, a file of any bytes, to TO as the array of C++ that line_buffer.cc has.
file(READ ${FROM} hex HEX)
string(REGEX REPLACE "(..)" "0x\\1," bytes "${hex}")
string(REGEX REPLACE "(([^,]*,){16})" "\\1\n" bytes "${bytes}")
file(WRITE ${TO} "extern const unsigned char dtrain_line_buffer[];\nextern const unsigned long dtrain_line_buffer_bytes;\n"
  "const unsigned char dtrain_line_buffer[] = {\n${bytes}};\n"
  "const unsigned long dtrain_line_buffer_bytes = sizeof dtrain_line_buffer;\n")
